class Order < ApplicationRecord
  has_many :order_line_items, dependent: :destroy
  belongs_to :billing_address, class_name: "OrderAddress"
  belongs_to :shipping_address, class_name: "OrderAddress"
  belongs_to :order_account
  belongs_to :customer, class_name: "OrderUser", foreign_key: :order_user_id
  belongs_to :order_user
  belongs_to :order_shipping_type
  belongs_to :order_status_code
  belongs_to :promotion
  belongs_to :affiliate
  belongs_to :affiliate_payment
end
