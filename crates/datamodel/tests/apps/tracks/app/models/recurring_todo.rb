class RecurringTodo < ApplicationRecord
  belongs_to :context
  belongs_to :project
  belongs_to :user
  has_many :todos
end
