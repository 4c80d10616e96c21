class Preference < ApplicationRecord
  belongs_to :user
end
