# The flag wins over load_defaults; validations make some required after all.
# file: config/application.rb
class Application < Rails::Application
  config.load_defaults "6.0"
end
# file: config/initializers/new_framework_defaults.rb
Rails.application.config.active_record.belongs_to_required_by_default = false
# file: app/models/models.rb
class Photo < ApplicationRecord
  belongs_to :profile
  belongs_to :album
  belongs_to :place
  validates_presence_of :profile_id
  validates :album, presence: true, if: :sorted?
  validates :place, presence: { message: "where?" }
end
class Profile < ApplicationRecord; end
class Album < ApplicationRecord; end
class Place < ApplicationRecord; end
