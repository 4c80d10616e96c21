class Task < ApplicationRecord
  belongs_to :user
  belongs_to :assignee, class_name: "User"
  belongs_to :completor, class_name: "User"
  belongs_to :asset, polymorphic: true
  has_many :activities, as: :subject
  validates :user, presence: true
end
