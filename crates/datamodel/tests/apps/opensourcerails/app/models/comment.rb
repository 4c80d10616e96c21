class Comment < ApplicationRecord
  belongs_to :project
  belongs_to :owner, class_name: "User"
  belongs_to :user, foreign_key: :owner_id
end
