class Forum < ApplicationRecord
  has_many :topics, class_name: "ForumTopic", dependent: :destroy
  has_many :posts, through: :topics
end
