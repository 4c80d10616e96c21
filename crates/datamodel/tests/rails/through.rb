# Ways through other associations, nested ones too; what leads nowhere is reported.
# file: app/models/models.rb
class User < ApplicationRecord
  has_many :bookmarks, dependent: :destroy
  has_many :projects, through: :bookmarks
  has_many :owners, through: :projects, source: :owner
  has_many :lost, through: :bookmarks
  has_many :nowhere, through: :nothing
  has_one :profile
  has_one :picture, through: :profile, dependent: :destroy
  has_many :tagged_photos, through: :bookmarks, source: :thing, source_type: "Photo"
  has_many :cleared, through: :bookmarks, source: :project, dependent: :destroy
end
class Bookmark < ApplicationRecord
  belongs_to :user
  belongs_to :project
  belongs_to :thing, polymorphic: true
end
class Project < ApplicationRecord; belongs_to :owner, class_name: "User"; end
class Profile < ApplicationRecord; belongs_to :user; has_one :picture; end
class Picture < ApplicationRecord; belongs_to :profile; end
class Photo < ApplicationRecord; has_many :bookmarks, as: :thing; end
