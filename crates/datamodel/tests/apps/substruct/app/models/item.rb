class Item < ApplicationRecord
  has_many :order_line_items
  has_many :wishlist_items, dependent: :destroy
end
