# A polymorphic column names what is declared as it; a delegated type says so itself.
# file: app/models/models.rb
class Comment < ApplicationRecord
  belongs_to :commentable, polymorphic: true
  belongs_to :nobody, polymorphic: true, optional: true
end
class Photo < ApplicationRecord; has_many :comments, as: :commentable, dependent: :destroy; end
class Blog < ApplicationRecord; has_one :comment, as: :commentable; end
class Entry < ApplicationRecord
  delegated_type :entryable, types: %w[Message Letter], dependent: :destroy
end
module Entryable
  extend ActiveSupport::Concern
  included { has_one :entry, as: :entryable, touch: true }
end
class Message < ApplicationRecord; include Entryable; end
class Letter < ApplicationRecord; end
class Picture < ApplicationRecord
  has_many :marks, as: :target, foreign_key: :thing_id, foreign_type: :thing_type
end
class Mark < ApplicationRecord; end
