class AccountOpportunity < ApplicationRecord
  belongs_to :account
  belongs_to :opportunity
end
