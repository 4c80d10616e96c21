class OrderLineItem < ApplicationRecord
  belongs_to :product
  belongs_to :item
  belongs_to :order
end
