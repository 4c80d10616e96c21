# What a module declares belongs to each class that includes it, and to no other.
# file: app/models/concerns/commentable.rb
module Commentable
  extend ActiveSupport::Concern
  include Trackable
  included do
    has_many :comments, as: :commentable, dependent: :destroy
  end
  class_methods do
    def popular; end
  end
end
# file: app/models/concerns/trackable.rb
module Trackable
  extend ActiveSupport::Concern
  included { belongs_to :tracker, class_name: "User", optional: true }
end
# file: lib/owned.rb
module Owned
  def self.included(base)
    base.extend ClassMethods
    base.class_eval do
      belongs_to :owner, class_name: "User"
    end
    base.has_many :keys, dependent: :delete_all
    base.send :has_many, :locks
  end
  module ClassMethods
  end
end
# file: lib/unused.rb
module Unused
  extend ActiveSupport::Concern
  included do
    has_many :ghosts
  end
end
# file: app/models/models.rb
class Post < ApplicationRecord
  include Commentable, Owned
  include Gem::Unseen
  concerning :Reviews do
    included do
      has_many :reviews
    end
  end
end
class User < ApplicationRecord; end
class Comment < ApplicationRecord; belongs_to :commentable, polymorphic: true; end
class Key < ApplicationRecord; end
class Lock < ApplicationRecord; end
class Review < ApplicationRecord; belongs_to :post; end
