class OrderAccount < ApplicationRecord
  has_one :order_account_type
  has_one :order
  belongs_to :order_user
end
