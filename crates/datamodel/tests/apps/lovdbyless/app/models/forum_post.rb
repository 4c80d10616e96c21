class ForumPost < ApplicationRecord
  belongs_to :owner, class_name: "Profile"
  belongs_to :topic, class_name: "ForumTopic"
  validates :owner_id, presence: true
end
