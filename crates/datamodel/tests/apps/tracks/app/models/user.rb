class User < ApplicationRecord
  has_many :contexts, dependent: :delete_all
  has_many :projects, dependent: :delete_all
  has_many :active_projects, -> { where("state = active") }, class_name: "Project"
  has_many :active_contexts, -> { where("hide = 0") }, class_name: "Context"
  has_many :todos, dependent: :delete_all
  has_many :recurring_todos, dependent: :delete_all
  has_many :deferred_todos, -> { where("state = deferred") }, class_name: "Todo"
  has_many :completed_todos, -> { where("state = completed") }, class_name: "Todo"
  has_many :notes, dependent: :delete_all
  has_one :preference, dependent: :destroy
end
