class ProjectRating < ApplicationRecord
  belongs_to :project, foreign_key: :rated_id
  belongs_to :rater, class_name: "User"
end
