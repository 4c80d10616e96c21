class Contact < ApplicationRecord
  belongs_to :user
  belongs_to :lead
  belongs_to :assignee, class_name: "User"
  has_one :account_contact, dependent: :destroy
  has_one :account, through: :account_contact
  has_many :contact_opportunities, dependent: :destroy
  has_many :opportunities, through: :contact_opportunities
  has_many :tasks, as: :asset, dependent: :destroy
  has_many :activities, as: :subject
  has_one :business_address, -> { where("address_type = Business") }, class_name: "Address", as: :addressable, dependent: :destroy
  has_many :comments, as: :commentable, dependent: :destroy
  has_many :permissions, as: :asset
end
