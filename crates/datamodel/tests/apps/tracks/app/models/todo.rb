class Todo < ApplicationRecord
  belongs_to :context
  belongs_to :project
  belongs_to :user
  belongs_to :recurring_todo
  has_many :predecessor_dependencies, class_name: "Dependency", foreign_key: :successor_id, dependent: :destroy
  has_many :successor_dependencies, class_name: "Dependency", foreign_key: :predecessor_id, dependent: :destroy
  has_many :predecessors, through: :predecessor_dependencies
  has_many :successors, through: :successor_dependencies
  validates :context, presence: true
end
