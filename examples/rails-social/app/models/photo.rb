class Photo < ApplicationRecord
  belongs_to :profile
  has_many :tags, as: :taggable
end
