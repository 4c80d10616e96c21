class Profile < ApplicationRecord
  belongs_to :user
  has_many :photos, dependent: :destroy
  has_many :videos, -> { where(format: "mp4") }, dependent: :destroy
end
