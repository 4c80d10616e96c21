class Project < ApplicationRecord
  belongs_to :owner, class_name: "User"
  belongs_to :author, class_name: "User"
  has_many :comments, dependent: :nullify
  has_many :screenshots, dependent: :delete_all
  has_many :versions, dependent: :delete_all
  has_many :hosted_instances, dependent: :delete_all
  has_many :instructions, dependent: :delete_all
  has_many :bookmarks, dependent: :destroy
  has_many :activities, dependent: :delete_all
end
