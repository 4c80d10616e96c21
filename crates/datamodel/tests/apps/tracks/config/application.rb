module Tracks
  class Application < Rails::Application
    config.active_record.belongs_to_required_by_default = false
  end
end
