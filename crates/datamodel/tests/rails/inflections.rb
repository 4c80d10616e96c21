# Words are bent as Rails does, and as the application says.
# file: config/initializers/inflections.rb
ActiveSupport::Inflector.inflections(:en) do |inflect|
  inflect.irregular "octopus", "octopodes"
  inflect.uncountable %w[staff]
  inflect.acronym "API"
  inflect.plural(/^(ox)$/i, '\1en')
end
# file: app/models/models.rb
class Company < ApplicationRecord
  has_many :octopodes
  has_many :staff
  has_many :api_keys
  has_many :people
  has_many :addresses
  has_many :news
  has_many :categories
end
class Octopus < ApplicationRecord; belongs_to :company; end
class Staff < ApplicationRecord; belongs_to :company; end
class APIKey < ApplicationRecord; belongs_to :company; end
class Person < ApplicationRecord; belongs_to :company; end
class Address < ApplicationRecord; belongs_to :company; end
class News < ApplicationRecord; belongs_to :company; end
class Category < ApplicationRecord; belongs_to :company; end
