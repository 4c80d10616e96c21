class Opportunity < ApplicationRecord
  belongs_to :user
  belongs_to :campaign
  belongs_to :assignee, class_name: "User"
  has_one :account_opportunity, dependent: :destroy
  has_one :account, through: :account_opportunity
  has_many :contact_opportunities, dependent: :destroy
  has_many :contacts, through: :contact_opportunities
  has_many :tasks, as: :asset, dependent: :destroy
  has_many :activities, as: :subject
  has_many :comments, as: :commentable, dependent: :destroy
  has_many :permissions, as: :asset
end
