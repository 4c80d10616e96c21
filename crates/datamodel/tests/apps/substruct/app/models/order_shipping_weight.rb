class OrderShippingWeight < ApplicationRecord
  belongs_to :order_shipping_type
end
