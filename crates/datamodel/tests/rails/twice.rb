# Two associations on one column are one reference; of two with one name the last counts.
# file: app/models/models.rb
class Order < ApplicationRecord
  belongs_to :customer, class_name: "User", foreign_key: "user_id"
  belongs_to :user
  belongs_to :account
  has_one :account_order, dependent: :destroy
  has_one :account, through: :account_order
  belongs_to :buyer, class_name: "Account", foreign_key: :buyer_id
end
class User < ApplicationRecord
  has_many :orders
  has_many :paid_orders, -> { where(paid: true) }, class_name: "Order", dependent: :destroy
  has_many :bought, class_name: "Order", foreign_key: :buyer_id
end
class AccountOrder < ApplicationRecord; belongs_to :account; belongs_to :order; end
class Account < ApplicationRecord; end
