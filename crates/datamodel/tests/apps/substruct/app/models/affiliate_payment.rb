class AffiliatePayment < ApplicationRecord
  has_many :orders, dependent: :nullify
  belongs_to :affiliate
end
