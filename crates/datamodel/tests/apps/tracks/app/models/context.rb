class Context < ApplicationRecord
  has_many :todos, dependent: :delete_all
  has_many :recurring_todos, dependent: :delete_all
  belongs_to :user
end
