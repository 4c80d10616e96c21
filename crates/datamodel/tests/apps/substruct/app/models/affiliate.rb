class Affiliate < ApplicationRecord
  has_many :orders
  has_many :valid_referred_orders, -> { where("status = valid") }, class_name: "Order"
  has_many :orders_to_be_paid, -> { where("status = due") }, class_name: "Order"
  has_many :payments, class_name: "AffiliatePayment", dependent: :destroy
end
