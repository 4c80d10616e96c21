class OrderAccountType < ApplicationRecord
  belongs_to :order_account
end
