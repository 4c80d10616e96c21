class OrderAddress < ApplicationRecord
  has_one :order, foreign_key: :billing_address_id
  belongs_to :order_user
  belongs_to :country
end
