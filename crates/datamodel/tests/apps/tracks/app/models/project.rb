class Project < ApplicationRecord
  has_many :todos, dependent: :delete_all
  has_many :notes, dependent: :delete_all
  has_many :recurring_todos
  belongs_to :default_context, class_name: "Context"
  belongs_to :user
end
