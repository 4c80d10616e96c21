class Account < ApplicationRecord
  belongs_to :user
  belongs_to :assignee, class_name: "User"
  has_many :account_contacts, dependent: :destroy
  has_many :contacts, through: :account_contacts
  has_many :account_opportunities, dependent: :destroy
  has_many :opportunities, through: :account_opportunities
  has_many :tasks, as: :asset, dependent: :destroy
  has_many :activities, as: :subject
  has_one :billing_address, -> { where("address_type = Billing") }, class_name: "Address", as: :addressable, dependent: :destroy
  has_one :shipping_address, -> { where("address_type = Shipping") }, class_name: "Address", as: :addressable, dependent: :destroy
  has_many :comments, as: :commentable, dependent: :destroy
  has_many :permissions, as: :asset
end
