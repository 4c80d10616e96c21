class WishlistItem < ApplicationRecord
  belongs_to :order_user
  belongs_to :item
end
