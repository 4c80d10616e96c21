# What gems' macros declare, and their classes.
# file: app/models/models.rb
class Section < ActiveRecord::Base
  acts_as_tree order: "name"
  acts_as_list scope: :parent
end
class Category < ActiveRecord::Base
  acts_as_nested_set dependent: :destroy
end
class Project < ActiveRecord::Base
  acts_as_rated
  acts_as_taggable_on :skills
  acts_as_commentable
  has_paper_trail
  acts_as_paranoid
end
class Comment < ActiveRecord::Base; belongs_to :commentable, polymorphic: true; end
class User < ActiveRecord::Base
  has_one_attached :avatar
  has_many_attached :files
  has_rich_text :about
  include Discard::Model
  audited
  acts_as_votable
end
class Plain < ActiveRecord::Base
  has_ancestry
  devise :database_authenticatable
end
