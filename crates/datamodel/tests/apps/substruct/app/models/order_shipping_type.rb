class OrderShippingType < ApplicationRecord
  has_many :orders
  has_many :weights, class_name: "OrderShippingWeight", dependent: :destroy
end
