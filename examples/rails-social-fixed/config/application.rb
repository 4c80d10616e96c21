module Social
  class Application < Rails::Application
    config.load_defaults 7.1
  end
end
