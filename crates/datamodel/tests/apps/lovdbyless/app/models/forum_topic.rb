class ForumTopic < ApplicationRecord
  belongs_to :owner, class_name: "Profile"
  belongs_to :forum
  has_many :posts, class_name: "ForumPost", foreign_key: :topic_id, dependent: :destroy
end
