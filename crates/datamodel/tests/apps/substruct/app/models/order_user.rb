class OrderUser < ApplicationRecord
  has_many :orders, dependent: :nullify
  has_one :last_order, -> { order("created_at DESC") }, class_name: "Order"
  has_many :order_addresses, dependent: :destroy
  has_many :order_accounts, dependent: :destroy
  has_many :wishlist_items, dependent: :destroy
  has_many :items, through: :wishlist_items
end
