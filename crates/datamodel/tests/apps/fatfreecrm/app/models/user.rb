class User < ApplicationRecord
  has_one :avatar, as: :entity, dependent: :destroy
  has_many :avatars
  has_many :comments, as: :commentable
  has_many :accounts
  has_many :campaigns
  has_many :leads
  has_many :contacts
  has_many :opportunities
  has_many :activities, dependent: :destroy
  has_many :permissions, dependent: :destroy
  has_many :preferences, dependent: :destroy
end
