class Video < ApplicationRecord
  belongs_to :profile
  has_many :tags, as: :taggable, dependent: :destroy
end
