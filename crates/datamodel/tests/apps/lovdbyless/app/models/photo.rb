class Photo < ApplicationRecord
  has_many :comments, as: :commentable, dependent: :destroy
  belongs_to :profile
  validates :profile_id, presence: true
end
