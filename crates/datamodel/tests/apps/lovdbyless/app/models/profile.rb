class Profile < ApplicationRecord
  belongs_to :user
  has_many :feeds
  has_many :feed_items, through: :feeds
  has_many :private_feed_items, -> { where("is_public = 0") }, through: :feeds, source: :feed_item
  has_many :public_feed_items, -> { where("is_public = 1") }, through: :feeds, source: :feed_item
  has_many :sent_messages, class_name: "Message", foreign_key: :sender_id
  has_many :received_messages, class_name: "Message", foreign_key: :receiver_id
  has_many :unread_messages, -> { where("read = 0") }, class_name: "Message", foreign_key: :receiver_id
  has_many :friendships, -> { where("status = ACCEPTED") }, class_name: "Friend", foreign_key: :inviter_id
  has_many :follower_friends, -> { where("status = PENDING") }, class_name: "Friend", foreign_key: :invited_id
  has_many :following_friends, -> { where("status = PENDING") }, class_name: "Friend", foreign_key: :inviter_id
  has_many :friends, through: :friendships, source: :invited
  has_many :followers, through: :follower_friends, source: :inviter
  has_many :followings, through: :following_friends, source: :invited
  has_many :comments, as: :commentable
  has_many :blogs
  has_many :photos
  has_many :forum_posts, foreign_key: :owner_id, dependent: :destroy
end
