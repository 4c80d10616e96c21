# The application's own macros are followed; those of nobody are reported.
# file: lib/permissions.rb
module Permissions
  module ClassMethods
    def uses_permissions
      has_many :permissions, as: :asset, dependent: :destroy
      validates_presence_of :name
    end
    def has_notes(kind)
      has_many :notes, class_name: kind
    end
  end
end
# file: app/models/lead.rb
class Lead < ApplicationRecord
  uses_permissions
  has_notes "Memo"
  mystery_macro :x
  validates :name, presence: true
  scope :open, -> { where(open: true) }
  before_destroy :check
  after_commit :notify, on: :create
  %i[emails phones].each do |name|
    has_many name, dependent: :destroy
  end
  KINDS = %w[home work].freeze
  KINDS.each do |kind|
    has_many :"#{kind}_addresses", class_name: "Address", foreign_key: "#{kind}_lead_id"
  end
  Setting.all.each { |s| has_many s.name }
  has_many computed_name
  if Rails.env.test?
    has_many :fakes, class_name: "Email"
  end
  def destroy
    update(gone: true)
  end
end
class Permission < ApplicationRecord; belongs_to :asset, polymorphic: true; end
class Memo < ApplicationRecord; belongs_to :lead; end
class Email < ApplicationRecord; belongs_to :lead; end
class Phone < ApplicationRecord; belongs_to :lead; end
class Address < ApplicationRecord; end
# file: app/models/concerns/attachable.rb
module Attachable
  extend ActiveSupport::Concern
  class_methods do
    def has_attachment(name)
      has_one name, class_name: "Upload", dependent: :destroy
    end
  end
end
# file: app/models/application_record.rb
class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true
  class << self
    def tracked_by(name)
      belongs_to name, class_name: "Lead", optional: true
    end
  end
end
# file: app/models/upload.rb
class Upload < ApplicationRecord
  tracked_by :boss
  self.table_name = "#{Rails.env}_uploads"
end
class Letter < ApplicationRecord
  include Attachable
  has_attachment :cover
  Registry.register(self)
  Registry.count
  class_eval "has_many :hidden"
  belongs_to :base, class_name: "ApplicationRecord"
end
