class Promotion < ApplicationRecord
  has_many :orders
  belongs_to :item
end
