class Lead < ApplicationRecord
  belongs_to :user
  belongs_to :campaign
  belongs_to :assignee, class_name: "User"
  has_one :contact, dependent: :nullify
  has_many :tasks, as: :asset, dependent: :destroy
  has_many :activities, as: :subject
  has_one :business_address, -> { where("address_type = Business") }, class_name: "Address", as: :addressable, dependent: :destroy
  has_many :comments, as: :commentable, dependent: :destroy
  has_many :permissions, as: :asset
end
