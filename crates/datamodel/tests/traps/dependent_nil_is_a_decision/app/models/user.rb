class User < ApplicationRecord
  has_many :posts, dependent: nil
end
