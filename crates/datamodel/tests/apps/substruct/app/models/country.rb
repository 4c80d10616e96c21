class Country < ApplicationRecord
  has_many :order_addresses
end
