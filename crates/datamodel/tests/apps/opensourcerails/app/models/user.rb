class User < ApplicationRecord
  has_many :bookmarks
  has_many :projects, through: :bookmarks
  has_many :submitted, class_name: "Project", foreign_key: :owner_id
  has_many :activities
  has_many :comments, foreign_key: :owner_id
  has_many :hosted_instances, foreign_key: :owner_id
  has_many :screenshots, foreign_key: :owner_id
  has_many :versions, foreign_key: :owner_id
  has_many :rated, class_name: "ProjectRating", foreign_key: :rater_id
end
