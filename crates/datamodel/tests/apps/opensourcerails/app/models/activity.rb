class Activity < ApplicationRecord
  belongs_to :user
  belongs_to :target, polymorphic: true
  belongs_to :project
end
