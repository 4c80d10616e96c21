class Campaign < ApplicationRecord
  belongs_to :user
  belongs_to :assignee, class_name: "User"
  has_many :tasks, as: :asset, dependent: :destroy
  has_many :leads, dependent: :destroy
  has_many :opportunities, dependent: :destroy
  has_many :activities, as: :subject
  has_many :comments, as: :commentable, dependent: :destroy
  has_many :permissions, as: :asset
end
