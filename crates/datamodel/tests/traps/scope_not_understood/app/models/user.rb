class User < ApplicationRecord
  has_many :posts, -> { recent.joins(:tags) }, dependent: :destroy
end
