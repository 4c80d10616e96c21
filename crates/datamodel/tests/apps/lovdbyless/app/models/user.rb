class User < ApplicationRecord
  has_one :profile, dependent: :nullify
end
