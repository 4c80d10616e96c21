class OrderStatusCode < ApplicationRecord
  has_many :orders
end
